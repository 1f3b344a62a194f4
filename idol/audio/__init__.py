"""Sound in and out: the output ring, the device's clock, the null device."""
