(define (f x) ; comment 1
  (* x 2)) ; comment 2
(f 12) ; 24
