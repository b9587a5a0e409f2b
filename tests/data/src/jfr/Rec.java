import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** Two threads that compute, a recursion deeper than the recorder follows, a thread in native code, and allocations. */
public class Rec {
    static volatile long sink;
    static List<Object> held = new ArrayList<>();

    static long spin(long n) {
        long x = n;
        for (long i = 0; i < 4_000_000L; i++) x = x * 6364136223846793005L + i;
        return x;
    }

    static long deep(int n) {
        return n == 0 ? spin(n) : deep(n - 1) + 1;
    }

    static void allocate() {
        for (int i = 0; i < 2000; i++) {
            byte[] bytes = new byte[4096];
            if (i % 100 == 0) held.add(bytes);
            sink += bytes.length;
        }
    }

    static void work(String name, LongUnaryOperator step, long end) {
        Thread.currentThread().setName(name);
        while (System.nanoTime() < end) {
            sink += step.applyAsLong(sink);
            allocate();
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000L;
        ServerSocket socket = new ServerSocket(0);
        Thread native_ = new Thread(() -> {
            try { socket.accept(); } catch (Exception closed) { }
        }, "accept: 1");
        native_.setDaemon(true);
        native_.start();
        Thread a = new Thread(() -> work("wörker 1", Rec::spin, end));
        Thread b = new Thread(() -> work("", x -> deep(90), end));
        a.start(); b.start(); a.join(); b.join();
        socket.close();
        if (args.length > 1) Runtime.getRuntime().halt(0);
    }
}
