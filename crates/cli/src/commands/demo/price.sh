price() { echo "$1"; }
