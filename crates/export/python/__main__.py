"""`python crates/export/python`: the exporting process that the crate `export` starts. See `guide_export.worker`."""

from guide_export.worker import main

main()
