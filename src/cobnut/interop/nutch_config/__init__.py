"""What does a Nutch configuration become here? `convert` reads it, `write` puts the result into a crawl."""
