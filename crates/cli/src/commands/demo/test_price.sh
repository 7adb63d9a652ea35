. ./price.sh
check() { [ "$1" = "$2" ] || { echo "expected $2, got $1"; exit 1; }; }

check "$(price 50)" 50
