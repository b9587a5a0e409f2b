"""Writes a profile of known stacks by the classes that opentelemetry-proto of the Python path was generated with: make.py FILE.

Two profiles of a resource (cpu in ns, samples without values but with times) and one of another; threads, a function that is
inlined, a frame of the kernel, one without a name, and an attribute that says nothing of threads."""
import sys
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.profiles.v1development import profiles_pb2 as p

STRINGS = ['']
def s(text):
    if text not in STRINGS: STRINGS.append(text)
    return STRINGS.index(text)
HAS_STACKS = hasattr(p, 'Stack')
data = p.ProfilesData()
d = data.dictionary
d.mapping_table.add(); d.location_table.add(); d.function_table.add(); d.link_table.add(); d.attribute_table.add()
if HAS_STACKS: d.stack_table.add()
def attribute(key, value):
    if HAS_STACKS: a = d.attribute_table.add(key_strindex=s(key))
    else: a = d.attribute_table.add(key=key)
    if isinstance(value, int): a.value.int_value = value
    else: a.value.string_value = value
    return len(d.attribute_table) - 1
def function(name, file):
    d.function_table.add(name_strindex=s(name), system_name_strindex=s(name), filename_strindex=s(file))
    return len(d.function_table) - 1
def location(mapping, address, lines, attributes=()):
    l = d.location_table.add(mapping_index=mapping, address=address, attribute_indices=attributes)
    for f, n in lines: (l.lines if HAS_STACKS else l.line).add(function_index=f, line=n)
    return len(d.location_table) - 1
build = attribute('process.executable.build_id.gnu', '00112233445566778899aabbccddeeff00112233')
kernel = attribute('profile.frame.type', 'kernel')
d.mapping_table.add(memory_start=0x400000, memory_limit=0x500000, file_offset=0x1000, filename_strindex=s('/opt/shop'), attribute_indices=[build])
leaf, inner, outer, entry = (function(n, 'shop.c') for n in ('leaf', 'inner', 'outer', 'main'))
sys_read = function('ksys_read', '')
here = location(1, 0x400010, [(leaf, 3), (inner, 5)])
there = location(1, 0x400020, [(outer, 9)])
root = location(1, 0x400030, [(entry, 20)])
nameless = location(1, 0x400abc, [])
read = location(0, 0, [(sys_read, 0)], [kernel])
worker, main, odd = attribute('thread.name', 'wörker'), attribute('thread.name', 'main'), attribute('shop.cart', 17)
pid, number = attribute('process.pid', 4242), attribute('thread.id', 81)
def samples(profile, rows):
    indices = []
    for stack, attributes, values, times in rows:
        sample = (profile.samples if HAS_STACKS else profile.sample).add(attribute_indices=attributes, timestamps_unix_nano=times)
        (sample.values if HAS_STACKS else sample.value).extend(values)
        if HAS_STACKS:
            known = [list(x.location_indices) for x in d.stack_table]
            if stack not in known: d.stack_table.add(location_indices=stack); known.append(stack)
            sample.stack_index = known.index(stack)
        else:
            sample.locations_start_index = len(profile.location_indices)
            sample.locations_length = len(stack)
            profile.location_indices.extend(stack)
START = 1_700_000_000_000_000_000
def profile(scope, kind, unit, rows, start, duration):
    x = scope.profiles.add()
    if HAS_STACKS: x.sample_type.type_strindex, x.sample_type.unit_strindex = s(kind), s(unit)
    else: x.sample_type.add(type_strindex=s(kind), unit_strindex=s(unit))
    x.period_type.type_strindex, x.period_type.unit_strindex, x.period = s('cpu'), s('nanoseconds'), 10_000_000
    if HAS_STACKS: x.time_unix_nano, x.duration_nano = start, duration
    else: x.time_nanos, x.duration_nanos = start, duration
    samples(x, rows)
def resource(name):
    r = data.resource_profiles.add()
    for key, value in (('service.name', name), ('host.name', 'builder')):
        r.resource.attributes.add(key=key).value.string_value = value
    scope = r.scope_profiles.add()
    scope.scope.name, scope.scope.version = 'io.example.profiler', '1.2'
    return scope
shop = resource('shop')
profile(shop, 'cpu', 'nanoseconds', [
    ([here, there, root], [main], [30_000_000], []),
    ([read, there, root], [worker, pid], [20_000_000, 5_000_000], []),
    ([here, there, root], [main, odd], [10_000_000], []),
    ([nameless, root], [number], [1_000_000], []),
], START, 2_000_000_000)
profile(shop, 'samples', 'count', [
    ([here, there, root], [main], [], [START + 1, START + 2, START + 3]),
    ([read, there, root], [worker, pid], [], [START + 4]),
], START + 1_000_000_000, 2_000_000_000)
profile(resource('till'), 'cpu', 'nanoseconds', [([there, root], [main], [7_000_000], [])], START, 2_000_000_000)
d.string_table.extend(STRINGS)
open(sys.argv[1], 'wb').write(data.SerializeToString(deterministic=True))
