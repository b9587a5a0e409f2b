/** Two threads that wait for a lock, for each other and for the time, with a known number of waits. */
public class Locks {
    static final Object LOCK = new Object();
    static synchronized void hold(int ms) throws Exception { Thread.sleep(ms); }
    static void enter() throws Exception { hold(30); }
    static void await() throws Exception { synchronized (LOCK) { LOCK.wait(40); } }
    static void park() { java.util.concurrent.locks.LockSupport.parkNanos(35_000_000L); }
    public static void main(String[] args) throws Exception {
        Runnable work = () -> { try { for (int i = 0; i < 4; i++) { enter(); await(); park(); } } catch (Exception e) { throw new RuntimeException(e); } };
        Thread one = new Thread(work, "one"), two = new Thread(work, "two");
        one.start(); two.start(); one.join(); two.join();
    }
}
