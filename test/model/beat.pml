/*
 * The heartbeat, the local deadline and the sweeper against discrete time (docs/protocol.md 2, 5, 6).
 * One replica H holds leases; sweepers of other replicas judge them by the database's clock. One tick passes in turn:
 * nobody starves, but H may be stopped, statements and answers may take time, and the database's clock may step.
 */
#define LEASES 2
#define TTL 5
#define MARGIN 1
#define BEAT 1          /* interval of the heartbeat */
#define QUIET TTL
#ifndef ONLY
#define ONLY 0
#endif
#define I6 6
#define I7 7
#define CHECK(property, holds, text) \
	if \
	:: (ONLY == 0 || ONLY == property) && !(holds) -> printf(text); assert(false) \
	:: else \
	fi

/* Ticks that are left; relative times keep the states few. */
byte row[LEASES];       /* until expires_at, by the database's clock */
bit gone[LEASES];       /* swept */
bit lost[LEASES];       /* the signal has fired */
byte trust[LEASES];     /* until the local deadline: sent + TTL - MARGIN */
bit locked;             /* lease 0 is locked by somebody else, for as long as he likes */
byte beatIn;            /* until the next beat */

/* One beat in flight. */
bit flying, landed;
bit got[LEASES];
byte age;               /* ticks since it was sent */

bit stopped;            /* H stands still (SIGSTOP, garbage collection) */
byte stops = STOPS, slow = SLOW, steps = STEPS;
byte quiet;
bit stepUnseen;         /* the clock has stepped and no sweeper has looked since */
byte i;

/* ClockWatch.observe */
inline observe() {
	if
	:: stepUnseen ->
		stepUnseen = 0;
#ifndef M_QUIET
		quiet = QUIET;
		printf("clock watch: the clock has stepped, nothing is claimed for %d ticks\n", quiet);
#endif
	:: else
	fi
}

/* An expired row is swept, unless a quiet period is on. */
inline sweep() {
	observe();
	for (i : 0 .. LEASES - 1) {
		if
		:: quiet == 0 && row[i] == 0 && !gone[i] && !(locked && i == 0) ->
			printf("sweeper: sweeps lease %d\n", i);
			gone[i] = 1;
			/* Everything H could do to keep it was done in time. */
			CHECK(I6, lost[i] || (LOCKS && i == 0), "VIOLATED I6: a holder that renews in time is swept\n");
			lost[i] = 1
		:: else
		fi
	}
	i = 0
}

/* LeaseHeartbeat and LeaseSet */
inline send() {
	printf("holder: sends a beat\n");
	flying = 1; landed = 0; age = 0; beatIn = BEAT;
}

/* beat: FOR UPDATE SKIP LOCKED; with M_SKIP_LOCKED the whole statement waits for the locked row */
inline land() {
	landed = 1;
	for (i : 0 .. LEASES - 1) {
		if
		:: !gone[i] && !lost[i] && !(locked && i == 0) -> row[i] = TTL; got[i] = 1
		:: else
		fi
	}
	i = 0;
	printf("database: the beat lands\n")
}

#ifdef M_SENT_TIME
#define COUNTED_FROM 0
#else
#define COUNTED_FROM age
#endif
/* LeaseSet.renewed: an answer after the old deadline is a loss; else trust counts from the sending */
inline answer() {
	printf("holder: hears of the beat, %d ticks after sending it\n", age);
	for (i : 0 .. LEASES - 1) {
		if
		:: got[i] && !lost[i] && trust[i] > 0 && TTL - MARGIN > COUNTED_FROM &&
		   TTL - MARGIN - COUNTED_FROM > trust[i] -> trust[i] = TTL - MARGIN - COUNTED_FROM
		:: else
		fi;
		got[i] = 0
	}
	flying = 0; landed = 0; age = 0; i = 0
}

inline deadlines() {
	for (i : 0 .. LEASES - 1) {
		if
		:: !lost[i] && trust[i] == 0 -> 
			printf("holder: lost lease %d by its deadline\n", i);
			/* A holder that is not stopped, and answered within SLOW ticks, loses at most the row that is locked. */
			CHECK(I6, STOPS > 0 || (LOCKS && i == 0), "VIOLATED I6: a holder that could renew in time loses its lease\n");
			lost[i] = 1
		:: else
		fi
	}
	i = 0
}

/* The holder believes in it, and could act: then the row is unexpired, unless the clock itself has stepped. */
inline believes() {
	for (i : 0 .. LEASES - 1) {
		CHECK(I7, stopped || steps != STEPS || lost[i] || row[i] > 0, "VIOLATED I7: the holder believes, the database says expired\n")
	}
	i = 0
}

#ifdef M_SKIP_LOCKED
#define MAY_LAND (flying && !landed && !locked)
#else
#define MAY_LAND (flying && !landed)
#endif
#define LESS(x) x = (x > 0 -> x - 1 : 0)

/* What has to happen in a tick, unless the budget of slowness is spent on it. */
active proctype World() {
	d_step {
		for (i : 0 .. LEASES - 1) { row[i] = TTL; trust[i] = TTL - MARGIN }
		i = 0; beatIn = BEAT
	}
end:	do
	:: d_step { LOCKS && !locked -> printf("other: locks the row of lease 0\n"); locked = 1 }
	:: d_step { steps > 0 ->
		printf("database: the clock steps, every lease has expired\n");
		steps--; stepUnseen = 1; row[0] = 0; row[1] = 0 }
	:: d_step { stops > 0 && !stopped -> printf("holder: stands still\n"); stopped = 1 }
	:: d_step { stopped -> printf("holder: runs again\n"); stopped = 0; stops--; deadlines() }
	:: d_step { !stopped && !flying && beatIn == 0 && (!lost[0] || !lost[1]) -> send() }
	:: d_step { MAY_LAND -> land() }
	:: d_step { flying && landed && !stopped -> deadlines(); answer(); believes() }
	:: d_step { sweep() ; believes() }
#ifdef OPENS
	/* openTurn, told that the lease has expired, reads the clock before it claims (ClockWatch.freshlyQuiet). */
	:: d_step { quiet == 0 && row[1] == 0 && !gone[1] ->
#ifndef M_FRESH
		observe();
#endif
		if
		:: quiet == 0 ->
			printf("opener: ends the turn of lease 1 as abandoned\n");
			gone[1] = 1;
			CHECK(I6, lost[1], "VIOLATED I6: a holder that renews in time is swept\n");
			lost[1] = 1
		:: else
		fi }
#endif
	/* Time goes on when what is due has been done, or was held up. */
	:: d_step {
		(stopped || (!flying && (beatIn > 0 || (lost[0] && lost[1]))) || (slow > 0 && flying) || (flying && !landed && !MAY_LAND)) ->
		if
		:: flying && slow > 0 && MAY_LAND -> slow--
		:: flying && slow > 0 && landed && !stopped -> slow--
		:: else
		fi;
		LESS(row[0]); LESS(row[1]); LESS(trust[0]); LESS(trust[1]); LESS(beatIn); LESS(quiet);
		if
		:: flying && age < TTL -> age++
		:: else
		fi;
		if
		:: !stopped -> deadlines()
		:: else
		fi;
		believes() }
	od
}
