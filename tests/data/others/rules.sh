#!/bin/sh
#-------------------------------------------
# Rotates logs.
#-------------------------------------------
set -eu
for log in /var/log/*.log; do
    gzip -9 "$log"
done
