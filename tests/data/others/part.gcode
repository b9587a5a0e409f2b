G21 ; millimetres
G90 ; absolute
G28 X0 Y0 ; home 1
G1 X10 Y10 F1500 ; move 10
G1 X20 Y10 ; move 20
