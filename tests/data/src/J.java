import java.util.concurrent.locks.*;
public class J {
  static volatile long x; static final Object lock = new Object();
  static void leaf() { for (int i = 0; i < 1000000; i++) x += i; }
  static void rec(int n) { if (n == 0) leaf(); else rec(n - 1); }
  static void heavy() { while (true) rec(3); }
  public static void main(String[] a) throws Exception {
    Thread t = new Thread(() -> heavy(), "worker: \"odd\" 1"); t.setDaemon(true); t.start();
    Thread w = new Thread(() -> { synchronized (lock) { try { lock.wait(); } catch (InterruptedException e) {} } }, "waiter"); w.setDaemon(true); w.start();
    synchronized (lock) { Thread b = new Thread(() -> { synchronized (lock) { x++; } }, "blocked"); b.setDaemon(true); b.start(); Thread.sleep(300); }
    Thread.sleep(8000);
  }
}
