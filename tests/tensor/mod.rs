mod blocked;
