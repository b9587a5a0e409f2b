"""Writes a recording as async-profiler writes them (`src/jfrMetadata.cpp` and `src/flightRecorder.cpp` of its sources): make.py FILE.

One chunk: samples of processor and wall-clock time, native memory that is partly freed, live objects, a lost sample's thread and
stack; texts of every kind; frames of Java, of C++ and of the kernel; an event that no reader knows."""
import struct, sys

def num(n):
    out = b''
    for _ in range(8):
        if n < 128: return out + bytes([n])
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def utf8(s): b = s.encode(); return b'\x03' + num(len(b)) + b
def chars(s): b = s.encode('utf-16-le'); u = struct.unpack(f'<{len(b)//2}H', b); return b'\x04' + num(len(u)) + b''.join(map(num, u))
def latin(s): b = s.encode('latin-1'); return b'\x05' + num(len(b)) + b
def pooled(n): return b'\x02' + num(n)
def event(of, body):
    n = num(of) + body; size = len(n) + 1
    if size > 127: size += 1
    if size > 16383: size += 1
    return num(size) + n

TYPES = {'boolean': 4, 'char': 5, 'float': 6, 'double': 7, 'byte': 8, 'short': 9, 'int': 10, 'long': 11, 'java.lang.String': 20}
CLASSES = [
    ('java.lang.Class', 21, 'classLoader:jdk.types.ClassLoader:p name:jdk.types.Symbol:p package:jdk.types.Symbol:p modifiers:int'),
    ('java.lang.Thread', 22, 'osName:java.lang.String osThreadId:long javaName:java.lang.String javaThreadId:long'),
    ('jdk.types.ClassLoader', 23, 'type:java.lang.Class:p name:jdk.types.Symbol:p'),
    ('jdk.types.FrameType', 24, 'description:java.lang.String'),
    ('jdk.types.ThreadState', 25, 'name:java.lang.String'),
    ('jdk.types.StackTrace', 26, 'truncated:boolean frames:jdk.types.StackFrame:a'),
    ('jdk.types.StackFrame', 27, 'method:jdk.types.Method:p lineNumber:int bytecodeIndex:int type:jdk.types.FrameType:p'),
    ('jdk.types.Method', 28, 'type:java.lang.Class:p name:jdk.types.Symbol:p descriptor:jdk.types.Symbol:p modifiers:int hidden:boolean'),
    ('jdk.types.Symbol', 30, 'string:java.lang.String'),
    ('jdk.ExecutionSample', 101, 'startTime:long sampledThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p state:jdk.types.ThreadState:p'),
    ('profiler.WallClockSample', 102, 'startTime:long sampledThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p state:jdk.types.ThreadState:p samples:int timeSpan:long'),
    ('profiler.LiveObject', 103, 'startTime:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p objectClass:java.lang.Class:p allocationSize:long allocationTime:long'),
    ('profiler.Malloc', 104, 'startTime:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p address:long size:long'),
    ('profiler.Free', 105, 'startTime:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p address:long'),
    ('jdk.ObjectAllocationInNewTLAB', 106, 'startTime:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p objectClass:java.lang.Class:p allocationSize:long tlabSize:long'),
    ('jdk.ObjectAllocationOutsideTLAB', 107, 'startTime:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p objectClass:java.lang.Class:p allocationSize:long'),
    ('jdk.JVMInformation', 108, 'startTime:long jvmName:java.lang.String jvmVersion:java.lang.String jvmArguments:java.lang.String jvmFlags:java.lang.String javaArguments:java.lang.String jvmStartTime:long pid:long'),
    ('jdk.ActiveSetting', 109, 'startTime:long duration:long eventThread:java.lang.Thread:p stackTrace:jdk.types.StackTrace:p id:long name:java.lang.String value:java.lang.String'),
    ('odd.Everything', 110, 'startTime:long a:float b:double c:char d:short e:boolean f:java.lang.String:a g:jdk.types.StackFrame:a h:java.lang.String:p'),
]
def metadata():
    strings = []
    def s(text):
        if text not in strings: strings.append(text)
        return num(strings.index(text))
    def element(name, attributes, children=()):
        body = s(name) + num(len(attributes)) + b''.join(s(k) + s(v) for k, v in attributes)
        return body + num(len(children)) + b''.join(children)
    ids = TYPES | {name: n for name, n, _ in CLASSES}
    classes = [element('class', [('id', str(n)), ('name', name)]) for name, n in TYPES.items()]
    for name, n, fields in CLASSES:
        children = []
        for field in fields.split():
            field, of, *more = field.split(':')
            attributes = [('name', field), ('class', str(ids[of]))]
            if more == ['p']: attributes.append(('constantPool', 'true'))
            if more == ['a']: attributes.append(('dimension', '1'))
            children.append(element('field', attributes))
        extends = [('superType', 'jdk.jfr.Event')] if n > 100 else []
        classes.append(element('class', [('id', str(n)), ('name', name)] + extends, children))
    root = element('root', [], [element('metadata', [], classes), element('region', [('locale', 'en_US'), ('gmtOffset', '0')])])
    return event(0, num(1) + num(0) + num(1) + num(len(strings)) + b''.join(map(utf8, strings)) + root)

SYMBOLS = ['', 'shop/Main', 'shop/Cart', 'main', 'add', 'java/util/HashMap', 'put', 'shop/Main$$Lambda+0x00007f0d8c001a48', 'run',
           'operator new(unsigned long)', '_ZN4shop4fillEv', '__do_page_fault', 'byte[]']
sym = SYMBOLS.index
CLASS = {0: '', 1: 'shop/Main', 2: 'shop/Cart', 3: 'java/util/HashMap', 4: 'shop/Main$$Lambda+0x00007f0d8c001a48', 5: 'byte[]'}
METHODS = [None, (1, 'main'), (2, 'add'), (3, 'put'), (4, 'run'), (0, 'operator new(unsigned long)'), (0, '_ZN4shop4fillEv'), (0, '__do_page_fault'), (5, '')]
# Method, line, frame type: innermost first.
TRACES = {
    1: (0, [(2, 17, 1), (1, 5, 0)]),
    2: (0, [(7, 0, 5), (6, 0, 3), (3, 633, 2), (2, 18, 1), (1, 5, 0)]),
    3: (1, [(2, 19, 1), (4, 0, 6), (1, 6, 0)]),
    4: (0, [(5, 0, 4), (6, 0, 3), (1, 7, 0)]),
    5: (0, [(8, 0, 2), (2, 20, 1), (1, 5, 0)]),
}
TYPE_NAMES = ['Interpreted', 'JIT compiled', 'Inlined', 'Native', 'C++', 'Kernel', 'C1 compiled']
def checkpoint(delta, pools):
    return event(1, num(1) + num(0) + num(delta) + b'\x01' + num(len(pools)) + b''.join(num(of) + num(len(rows)) + b''.join(rows) for of, rows in pools))
POOLS = [
    (24, [num(i) + utf8(t) for i, t in enumerate(TYPE_NAMES)]),
    (25, [num(6) + utf8('STATE_RUNNABLE')]),
    (22, [num(81) + utf8('java') + num(81) + utf8('main') + num(1), num(82) + utf8('t') + num(82) + chars('wörker 𝟙') + num(12),
          num(83) + latin('gc-ü') + num(83) + b'\x00' + num(0), num(84) + utf8('t') + num(84) + pooled(9) + num(13)]),
    (26, [num(k) + bytes([cut]) + num(len(frames)) + b''.join(num(m) + num(line) + num(0) + num(t) for m, line, t in frames) for k, (cut, frames) in TRACES.items()]),
    (28, [num(i) + num(m[0]) + num(sym(m[1])) + num(0) + num(1) + b'\x00' for i, m in enumerate(METHODS) if m]),
    (21, [num(k) + num(0) + num(sym(name)) + num(0) + num(1) for k, name in CLASS.items()]),
    (30, [num(i) + utf8(text) for i, text in enumerate(SYMBOLS)]),
    (20, [num(9) + utf8('pooled')]),
]
EVENTS = [
    event(108, num(1) + utf8('OpenJDK 64-Bit Server VM') + utf8('OpenJDK 64-Bit Server VM (21.0.8+9) for linux-amd64 JRE (21.0.8+9), built on 2025-07-15') + utf8('-Xmx1g') + b'\x00' + utf8('shop.Main 3') + num(1) + num(4242)),
    event(109, num(1) + num(0) + num(0) + num(0) + num(101) + utf8('interval') + utf8('10000000')),
    event(109, num(1) + num(0) + num(0) + num(0) + num(104) + utf8('interval') + utf8('0')),
]
def sample(thread, trace): return event(101, num(5) + num(thread) + num(trace) + num(6))
EVENTS += [sample(81, 1)] * 5 + [sample(82, 2)] * 3 + [sample(83, 3)] + [sample(84, 1)] + [sample(0, 0)]
EVENTS += [event(102, num(9) + num(81) + num(1) + num(6) + num(n) + num(300)) for n in (4, 200)]
EVENTS += [event(103, num(9) + num(82) + num(5) + num(5) + num(n) + num(3)) for n in (64, 1 << 40)]
EVENTS += [event(106, num(9) + num(82) + num(5) + num(5) + num(32) + num(8192)), event(107, num(9) + num(82) + num(5) + num(5) + num(100_000))]
def malloc(time, address, size): return event(104, num(time) + num(81) + num(4) + num(address) + num(size))
def free(time, address): return event(105, num(time) + num(81) + num(0) + num(address))
# The block at 1 is freed and used again; that at 2 is freed, which stands in front of its allocation in the file.
EVENTS += [free(25, 2), malloc(10, 1, 100), malloc(20, 2, 30), free(30, 1), malloc(40, 1, 7), free(50, 99), malloc(60, (1 << 64) - 16, 1000)]
EVENTS += [event(110, num(1) + struct.pack('>fd', 1.5, 2.5) + num(300) + num(7) + b'\x01' + num(3) + b'\x00\x01' + latin('x') + num(1) + num(1) * 4 + num(9))]
body = b''.join(EVENTS)
first = checkpoint(0, POOLS[:4])
second = checkpoint((1 << 64) - len(first), POOLS[4:])
meta = metadata()
cp = 68 + len(body) + len(first)
size = cp + len(second) + len(meta)
header = b'FLR\0' + struct.pack('>HHQQQQQQQI', 2, 1, size, cp, cp + len(second), 1_700_000_000_000_000_000, 2_500_000_000, 7, 1_000_000_000, 1)
open(sys.argv[1], 'wb').write(header + body + first + second + meta)
