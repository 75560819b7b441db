"""Record collections: JSONL files of processed text records, one collection per document type."""
