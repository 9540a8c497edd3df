/* The client: a first message at replica t, then follow-ups, each to any replicas, to each once. */
#define FREE (rep[r] == UP && turn[X].ph == IDLE && q[X].op == NOTHING)
#define CREATES(kind) turn[X].ph = CREATING; turn[X].k = kind; send(X, CREATE); sent[r] = sent[r] | 128
	:: d_step { FREE && r == t && !(sent[r] & 128) && st[t] == NONE ->
		printf("replica %d: creates task %d, at work\n", r, t); CREATES(WORKING) }
	:: d_step { FREE && r == t && !(sent[r] & 128) && st[t] == NONE ->
		printf("replica %d: creates task %d, waiting for input\n", r, t); CREATES(INPUT) }
	:: d_step { FREE && st[t] != NONE && !(sent[r] & 1) && t == 0 ->
		printf("replica %d: gets message 0\n", r);
		sent[r] = sent[r] | 1; turn[X].ph = OPENING; turn[X].n = 0; send(X, OPEN) }
#if M > 1
	:: d_step { FREE && st[t] != NONE && !(sent[r] & 2) && t == 1 % T ->
		printf("replica %d: gets message 1\n", r);
		sent[r] = sent[r] | 2; turn[X].ph = OPENING; turn[X].n = 1; send(X, OPEN) }
#endif
#undef FREE
#undef CREATES
