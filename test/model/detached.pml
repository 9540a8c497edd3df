/* A statement nobody waits for is run late, or never. */
	:: d_step { q[LOOSE].op != NOTHING ->
		printf("database: runs a statement nobody waits for\n");
		execute(LOOSE, t);
		clearRequest(LOOSE);
		z = 0 }
	:: d_step { q[LOOSE].op != NOTHING -> clearRequest(LOOSE) }
