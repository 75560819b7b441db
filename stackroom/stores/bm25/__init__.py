"""The keyword side of search: one analyser, one corpus file per source, one memory-mapped index per corpus."""
