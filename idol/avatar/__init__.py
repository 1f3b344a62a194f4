"""What she is made of: VRM and glTF loading, skeleton, expressions, springs. No GL here."""
