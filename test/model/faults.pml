/* A replica dies or closes; one stays. */
#if R == 2
#define OTHERS_UP (rep[1 - r] == UP)
#else
#define OTHERS_UP (rep[(r + 1) % R] == UP || rep[(r + 2) % R] == UP)
#endif
	:: d_step { crashes > 0 && rep[r] == UP && OTHERS_UP ->
		printf("replica %d: closes\n", r);
		crashes--; rep[r] = CLOSING }
	:: d_step { (rep[r] == CLOSING || (crashes > 0 && rep[r] == UP)) && OTHERS_UP ->
		printf("replica %d: is gone\n", r);
		if
		:: rep[r] == UP -> crashes--
		:: else
		fi;
		rep[r] = DOWN; sent[r] = 255;
		for (t : 0 .. T - 1) {
			endTurn(X);
			if
			:: q[X].res != UNKNOWN -> clearRequest(X)
			:: else
			fi
		}
		t = 0 }
#undef OTHERS_UP
