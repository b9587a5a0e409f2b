#!/usr/bin/env python3
"""A reader of the Firefox Profiler's processed profiles that shares no code with cg-parse or cg-fmt.

It is based only on the format's published documentation (docs-developer/processed-profile-format.md and
CHANGELOG-formats.md of firefox-devtools/profiler), for versions 53 to 58. It rejects everything that these documents
forbid. It prints the sum of all weights, and the self and inclusive weight of each function.

    firefox_profile.py PROFILE.json
"""

import json
import sys

# The fields that the documentation does not mark as optional, with their types.
META = {
    "interval": (int, float), "startTime": (int, float), "version": int, "preprocessedProfileVersion": int,
    "product": str, "processType": int, "stackwalk": int, "markerSchema": list,
}
THREAD = {
    "name": str, "pid": str, "tid": (int, str), "processType": str, "isMainThread": bool,
    "processStartupTime": (int, float), "registerTime": (int, float), "pausedRanges": list,
}
# The columns of the tables. Each has the table that its values index ("" for none), and the values that mean "none".
TABLES = {
    "stackTable": {"frame": ("frameTable", ()), "prefix": ("stackTable", (None,))},
    "frameTable": {
        "address": ("", ()), "inlineDepth": ("", ()), "category": ("categories", (None,)),
        "subcategory": ("", (None,)), "func": ("funcTable", ()), "nativeSymbol": ("nativeSymbols", (None,)),
        "innerWindowID": ("", (None,)), "line": ("", (None,)), "column": ("", (None,)),
    },
    "funcTable": {
        "name": ("strings", ()), "isJS": ("", ()), "relevantForJS": ("", ()), "resource": ("resourceTable", (-1,)),
        "lineNumber": ("", (None,)), "columnNumber": ("", (None,)),
    },
    "resourceTable": {
        "lib": ("libs", (None,)), "name": ("strings", ()), "host": ("strings", (None,)), "type": ("", ()),
    },
    "nativeSymbols": {
        "libIndex": ("libs", ()), "address": ("", ()), "name": ("strings", ()), "functionSize": ("", (None,)),
    },
    "markers": {
        "data": ("", (None,)), "name": ("strings", ()), "startTime": ("", (None,)), "endTime": ("", (None,)),
        "phase": ("", ()), "category": ("categories", ()),
    },
}
LIB = {"arch": str, "name": str, "path": str, "debugName": str, "debugPath": str, "breakpadId": str}


class NotAProfile(Exception):
    pass


def demand(holds, *words):
    if not holds:
        raise NotAProfile(" ".join(str(word) for word in words))


def demand_fields(what, value, fields):
    for field, kind in fields.items():
        demand(field in value, what, "lacks", field)
        is_kind = isinstance(value[field], kind) and (kind is bool or not isinstance(value[field], bool))
        demand(is_kind, f"{what}.{field} is {value[field]!r}")


def read(profile):
    meta, libs = profile["meta"], profile["libs"]
    demand_fields("meta", meta, META)
    version = meta["preprocessedProfileVersion"]
    demand(53 <= version <= 58, "version", version)
    categories = meta["categories"]
    demand(any(category["color"] == "grey" for category in categories), "no category is grey")
    for category in categories:
        demand(category["subcategories"], "a category has no subcategory")
    for lib in libs:
        demand_fields("lib", lib, LIB)
        demand("codeId" in lib, "lib lacks codeId")
    for schema in meta["markerSchema"]:
        # 55: `data` was renamed to `fields`.
        demand("fields" in schema or version < 55, "a marker schema has no fields")
    total, own, inclusive = 0, {}, {}
    used_libs = set()
    for thread in profile["threads"]:
        demand_fields("thread", thread, THREAD)
        for field in ("processShutdownTime", "unregisterTime"):
            demand(field in thread, "thread lacks", field)
        # 56: strings are shared by all threads.
        strings = profile["shared"]["stringArray"] if version >= 56 else thread["stringArray"]
        demand(len(set(strings)) == len(strings), "a string is there twice")
        lengths = {"libs": len(libs), "strings": len(strings), "categories": len(categories)}
        lengths |= {table: thread[table]["length"] for table in TABLES}
        for name, columns in TABLES.items():
            table = thread[name]
            # 58: the file of a function is an index into the shared sources.
            files = {"source": ("", (None,))} if version >= 58 else {"fileName": ("strings", (None,))}
            known = columns | (files if name == "funcTable" else {})
            demand(set(table) - {"length"} == set(known), name, "has the columns", sorted(table))
            for column, (into, none) in known.items():
                values = table[column]
                demand(len(values) == table["length"], f"{name}.{column} has {len(values)} rows")
                for value in values:
                    if value in none and not isinstance(value, bool):
                        continue
                    demand(value is not None, f"{name}.{column} is null")
                    if into:
                        demand(isinstance(value, int) and 0 <= value < lengths[into], f"{name}.{column} is {value}")
        used_libs.update(lib for lib in thread["resourceTable"]["lib"] if lib is not None)
        stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
        for category, subcategory in zip(frames["category"], frames["subcategory"]):
            if category is not None and subcategory is not None:
                demand(subcategory < len(categories[category]["subcategories"]), "subcategory", subcategory)
        names, callers = [], []
        for row in range(stacks["length"]):
            prefix = stacks["prefix"][row]
            demand(prefix is None or prefix < row, "a caller follows its callee")
            function = strings[functions["name"][frames["func"][stacks["frame"][row]]]]
            names.append(function)
            above = frozenset() if prefix is None else callers[prefix]
            callers.append(above | {function})
        samples = thread["samples"]
        demand("time" in samples or "timeDeltas" in samples, "samples have no time")
        demand(samples["weightType"] in ("samples", "tracing-ms", "bytes"), "weightType", samples["weightType"])
        for column in ("stack", "time", "timeDeltas", "weight", "threadCPUDelta"):
            values = samples.get(column)
            demand(values is None or len(values) == samples["length"], f"samples.{column} has {len(values or [])} rows")
        times = samples.get("time", [])
        demand(all(a <= b for a, b in zip(times, times[1:])), "samples are not in the order of time")
        weights = samples["weight"] or [1] * samples["length"]
        for stack, weight in zip(samples["stack"], weights):
            total += weight
            if stack is None:
                continue
            demand(0 <= stack < stacks["length"], "there is no stack", stack)
            own[names[stack]] = own.get(names[stack], 0) + weight
            for function in callers[stack]:
                inclusive[function] = inclusive.get(function, 0) + weight
    # 41: every lib belongs to a resource.
    demand(used_libs == set(range(len(libs))), "a lib belongs to no resource")
    return {"total": total, "self": own, "inclusive": inclusive, "threads": [one["name"] for one in profile["threads"]]}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        profile = json.load(file)
    try:
        json.dump(read(profile), sys.stdout)
    except (NotAProfile, KeyError) as error:
        sys.exit(f"{sys.argv[1]}: not a processed profile: {error!r}")


main()
