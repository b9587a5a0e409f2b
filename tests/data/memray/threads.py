# Two threads that live side by side hold memory; the main thread holds some as well, by calls of itself.
import threading

held = []
both = threading.Barrier(3)


def hold(size, count):
    held.append([bytearray(size) for _ in range(count)])


def work(size):
    hold(size, 40)
    both.wait()
    both.wait()


def deep(level):
    if level == 0:
        hold(3000, 7)
    else:
        deep(level - 1)


threads = [threading.Thread(target=work, args=(size,), name=name) for size, name in ((5000, "first"), (6000, "io | 2;3"))]
for thread in threads:
    thread.start()
both.wait()
deep(3)
both.wait()
for thread in threads:
    thread.join()
