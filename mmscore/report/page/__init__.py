"""The HTML pages: what they carry of a run or of a comparison, and the files they are drawn by."""
