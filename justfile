# What a person does here. Anything with logic in it is in xtask.

# List the recipes
list:
    @just --list --unsorted

# Everything continuous integration checks
check:
    ./test

# The tests alone
test:
    ./test --quick

# Format the code
fmt:
    cargo fmt --all

# Write the generated pages (docs/reference)
gen:
    cargo xtask generate

# Benchmarks: the rules, the use case, the whole program (pass --quick for a first look)
bench *flags:
    cargo bench --package throughline-domain --package throughline-application --bench cascade
    cargo bench --package throughline-application --bench plan_document
    cargo xtask bench {{ flags }}
    cargo xtask bench hooks {{ flags }}
    cargo xtask bench crowd {{ flags }}
    cargo xtask bench work {{ flags }}
    cargo xtask bench git {{ flags }}
    cargo xtask bench web {{ flags }}
    cargo xtask bench team {{ flags }}

# The real agent hosts, offline, against a scripted model
hosts *names:
    ./test --hosts {{ names }}

# Every command killed and failed at every system call (needs strace; about half an hour)
faults *options:
    ./test --faults {{ options }}

# A small story in a new directory, and a plan's whole life
demo:
    cargo run -- demo
