#!/bin/sh
# ========
# captured by hand
# ========
echo 1; echo 2
