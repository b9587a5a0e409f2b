"""Writes a trace with the classes of the package `perfetto` (PyPI, 0.59): make.py FILE.

Slices of two threads and of a track of its own, by names and by numbers of names, on a clock that counts on from packet to packet;
one that is not ended and one that was not begun. Samples of Chrome's kind and of `stack_sample`; perf samples whose symbols stand
at the end of the trace, one that could not be unwound, one that was skipped. The packets of one sequence are packed by deflate,
those of another by zstd."""
import sys, zlib
import zstandard
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p

def packet(sequence=1, time=None, **more):
    x = p.TracePacket(trusted_packet_sequence_id=sequence, **more)
    if time is not None: x.timestamp = time
    return x
packets = []
def add(x): packets.append(x); return x

# The clock 64 of sequence 1 counts from packet to packet, in microseconds.
x = add(packet(sequence_flags=1))
x.clock_snapshot.clocks.add(clock_id=6, timestamp=5_000_000)
x.clock_snapshot.clocks.add(clock_id=64, timestamp=0, is_incremental=True, unit_multiplier_ns=1000)
x.trace_packet_defaults.timestamp_clock_id = 64
x.trace_packet_defaults.track_event_defaults.track_uuid = 10
x = add(packet()); x.track_descriptor.uuid = 9; x.track_descriptor.process.pid = 70; x.track_descriptor.process.process_name = 'shop'
x = add(packet()); x.track_descriptor.uuid = 10; x.track_descriptor.parent_uuid = 9; x.track_descriptor.thread.pid = 70; x.track_descriptor.thread.tid = 100; x.track_descriptor.thread.thread_name = 'wörker'
x = add(packet()); x.track_descriptor.uuid = 11; x.track_descriptor.parent_uuid = 9; x.track_descriptor.name = 'network'
def slice_(delta, kind, name=None, iid=None, track=None, intern=None):
    x = packet(time=delta, sequence_flags=2)
    x.track_event.type = kind
    if name: x.track_event.name = name
    if iid: x.track_event.name_iid = iid
    if track: x.track_event.track_uuid = track
    if intern: x.interned_data.event_names.add(iid=intern[0], name=intern[1])
    return x
B, E, I = p.TrackEvent.TYPE_SLICE_BEGIN, p.TrackEvent.TYPE_SLICE_END, p.TrackEvent.TYPE_INSTANT
inner = [
    slice_(10, B, iid=1, intern=(1, 'frame')),       # 10 µs
    slice_(5, B, name='layout'),                     # 15
    slice_(1, B, track=11, name='load; "x"'),        # 16
    slice_(4, I, name='tick'),                       # 20
    slice_(10, E),                                   # 30: layout 15
    slice_(20, B, iid=1),                            # 50: a frame in the frame
    slice_(3, E),                                    # 53
    slice_(7, E),                                    # 60: frame 50, of which 32 its own
    slice_(1, E),                                    # 61: not begun
    slice_(39, B, name='last'),                      # 100: to the end of the trace
    slice_(16, E, track=11),                         # 116: load 100
]
x = add(p.TracePacket())
x.compressed_packets = zlib.compress(p.Trace(packet=inner).SerializeToString())

# Samples of a browser: the thread is the one that the sequence described last.
def interned(x, names, frames, stacks):
    d = x.interned_data
    for i, name in names.items(): d.function_names.add(iid=i, str=name.encode())
    for i, f in frames.items(): d.frames.add(iid=i, **f)
    for i, s in stacks.items(): d.callstacks.add(iid=i, frame_ids=s)
x = packet(2, 6_000_000, sequence_flags=1)
x.thread_descriptor.pid, x.thread_descriptor.tid, x.thread_descriptor.thread_name = 70, 101, 'CrBrowserMain'
y = packet(2, 6_000_001, sequence_flags=2)
interned(y, {1: 'main', 2: 'paint'}, {1: dict(function_name_id=1), 2: dict(function_name_id=2, line_number=7, source_path_iid=3)}, {1: [1, 2], 2: [1]})
y.interned_data.source_paths.add(iid=3, str=b'paint.cc')
y.streaming_profile_packet.callstack_iid.extend([1, 1, 2])
# A number that the sequence never gave.
z = packet(2, 6_000_002, sequence_flags=2); z.streaming_profile_packet.callstack_iid.append(99)
x2 = p.TracePacket()
x2.zstd_compressed_packets = zstandard.compress(p.Trace(packet=[x, y, z]).SerializeToString())
add(x2)

# perf: addresses, whose symbols come later.
x = add(packet(3, 7_000_000, sequence_flags=1))
x.trace_packet_defaults.perf_sample_defaults.timebase.frequency = 100
d = x.interned_data
d.mapping_paths.add(iid=1, str=b'opt'); d.mapping_paths.add(iid=2, str=b'libshop.so'); d.mapping_paths.add(iid=3, str=b'[kernel.kallsyms]')
d.build_ids.add(iid=1, str=bytes.fromhex('00112233445566770102'))
d.mappings.add(iid=1, build_id=1, path_string_ids=[1, 2]); d.mappings.add(iid=2, path_string_ids=[3])
interned(x, {5: 'ksys_read', 6: '_ZN4shop4mainEv'}, {1: dict(mapping_id=1, rel_pc=0x1010), 2: dict(mapping_id=1, rel_pc=0x2020), 3: dict(function_name_id=5, mapping_id=2, rel_pc=0x30), 4: dict(function_name_id=6, mapping_id=1, rel_pc=0x40)}, {1: [4, 1], 2: [4, 2, 3]})
for stack, tid, more in ((1, 100, {}), (1, 100, {}), (2, 102, {}), (2, 100, dict(unwind_error=p.Profiling.UNWIND_ERROR_MEMORY_INVALID)), (0, 100, dict(sample_skipped_reason=2)), (0, 0, dict(kernel_records_lost=4))):
    x = add(packet(3, 7_000_001, sequence_flags=2))
    x.perf_sample.CopyFrom(p.PerfSample(pid=70, tid=tid, callstack_iid=stack, **more))
# The same number stands for another stack once the sequence began anew.
x = add(packet(3, 7_000_002, sequence_flags=1)); interned(x, {1: 'other'}, {1: dict(function_name_id=1)}, {1: [1]})
x.perf_sample.CopyFrom(p.PerfSample(pid=70, tid=100, callstack_iid=1))

x = add(packet(4, 8_000_000, sequence_flags=1))
interned(x, {1: 'gc'}, {1: dict(function_name_id=1)}, {1: [1]})
x.interned_data.stack_sample_task_contexts.add(iid=1, pid=70, tid=101)
x.interned_data.stack_sample_counter_descriptors.add(iid=1, name='cycles')
x.stack_sample.CopyFrom(p.StackSample(callstack_iid=1, task_context_iid=1, primary_descriptor_iid=1, primary_weight=5000))

x = add(p.TracePacket(timestamp=9_000_000))
x.process_tree.processes.add(pid=70, cmdline=['shop', '--all']); x.process_tree.threads.add(tid=102, tgid=70, name='reader')
x = add(p.TracePacket(timestamp=9_000_001))
x.module_symbols.path, x.module_symbols.build_id = '/opt/libshop.so', bytes.fromhex('00112233445566770102').decode('latin-1')
a = x.module_symbols.address_symbols.add(address=0x1010)
a.lines.add(function_name='shop::get', source_file_name='get.h', line_number=3); a.lines.add(function_name='shop::put', source_file_name='put.cc', line_number=9)
open(sys.argv[1], 'wb').write(p.Trace(packet=packets).SerializeToString())
