/* Sorts numbers, slowly or less so: calls from several lines, recursion, a function called by two others. */

static unsigned numbers[64];

static int less(unsigned a, unsigned b) {
    return a < b;
}

static void swap(unsigned *a, unsigned *b) {
    unsigned old = *a;
    *a = *b;
    *b = old;
}

static void fill(unsigned seed) {
    for (int i = 0; i < 64; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = seed >> 16;
    }
}

static void bubble_sort(int length) {
    for (int end = length; end > 1; end--)
        for (int i = 1; i < end; i++)
            if (less(numbers[i], numbers[i - 1]))
                swap(&numbers[i], &numbers[i - 1]);
}

static void quick_sort(int first, int last) {
    int end = first;
    if (first >= last)
        return;
    for (int i = first; i < last; i++)
        if (less(numbers[i], numbers[last]))
            swap(&numbers[i], &numbers[end++]);
    swap(&numbers[end], &numbers[last]);
    quick_sort(first, end - 1);
    quick_sort(end + 1, last);
}

int main(void) {
    fill(1);
#ifdef QUICK
    quick_sort(0, 63);
#else
    bubble_sort(64);
#endif
    fill(2);
    quick_sort(0, 63);
    return 0;
}
