/*
 * The lease protocol (docs/protocol.md) as a model for Spin; docs/model.md says what it leaves out.
 * Bounds and mutations come as -D flags from scripts/model.mjs.
 */
#include "names.pml"

/* One row of `tasks` and of `task_leases` for each task: what every replica shares. */
byte st[T];        /* tasks.state */
byte ver[T];       /* tasks.version */
byte holder[T];    /* task_leases.holder: replica + 1; 0: no row */
byte epoch[T];
bit pending[T];
bit expired[T];    /* expires_at <= now, by the database's clock */
bit marked[T];     /* cancel_requested_at */
byte opened[M];    /* the epoch of the turn that message m has opened; 0: it is not in the log */
byte openedBy[M];

/* What only the properties look at. */
bit heard[T];      /* the turn of the lease has said a status */

/* A statement on its way to the database, or its answer on the way back. */
typedef Request { byte op; byte who; byte ep; byte v; byte n; byte k; bit copied; bit late; byte res }
Request q[SLOTS];

/* A turn as its replica sees it. */
typedef Turn { byte ph; byte ep; byte v; byte n; byte k; bit parked; bit spoke; bit cancelling; bit hung; bit landed }
Turn turn[R * T];

byte rep[R];       /* UP, CLOSING, DOWN */
byte losses = LOSSES, crashes = CRASHES, expiries = EXPIRIES, lateBeats = LATE_BEATS;
byte sent[R];      /* bit m: message m was sent to this replica */
bit candidate[T];
byte z;            /* counts within one step, 0 between steps */

/* The canceller, on replica CANCELLER, cancels task 0. */
byte cph, cv, cep, cmarked;
bit cover, clanded;

#include "database.pml"
#include "replica.pml"

#ifdef LIVE
/* Every role is a process of its own, so that weak fairness holds for each. */
proctype Agent(byte r; byte t) {
end:	do
#include "agent.pml"
	od
}
proctype Holder(byte r; byte t) {
end:	do
#include "holder.pml"
	od
}
proctype Network(byte r; byte t) {
end:	do
#include "network.pml"
	od
}
proctype Detached(byte t) {
end:	do
#include "detached.pml"
	od
}
proctype Sweeper(byte t) {
end:	do
#include "sweeper.pml"
	od
}
proctype Time(byte t) {
end:	do
#include "time.pml"
	od
}
/* What may happen, but need not: it ends when it likes. */
proctype Choices(byte r) {
	byte t;
	do
#include "faults.pml"
#include "client.pml"
#include "deadline.pml"
#include "jitter.pml"
	:: break
	od
}
#else
/* One place for all: fewer states, the same steps. */
proctype Replica(byte r; byte t) {
end:	do
#include "agent.pml"
#include "holder.pml"
#include "network.pml"
#include "client.pml"
#include "deadline.pml"
	od
}
proctype World(byte t) {
end:	do
#include "detached.pml"
#include "sweeper.pml"
#include "time.pml"
#include "jitter.pml"
	od
}
proctype Faults(byte r) {
	byte t;
end:	do
#include "faults.pml"
	od
}
#endif

#if CANCELS
proctype Canceller() {
	byte t;
end:	do
#include "canceller.pml"
#ifdef LIVE
	od
}
proctype CancelNetwork() {
	byte t;
end:	do
#endif
#include "cancel-network.pml"
	od
}
#endif

init {
	byte r, t;
	atomic {
		for (r : 0 .. R - 1) {
#ifdef LIVE
			run Choices(r);
#else
			run Faults(r);
#endif
			for (t : 0 .. T - 1) {
#ifdef LIVE
				run Agent(r, t); run Holder(r, t); run Network(r, t)
#else
				run Replica(r, t)
#endif
			}
		}
		for (t : 0 .. T - 1) {
#ifdef LIVE
			run Detached(t); run Sweeper(t); run Time(t)
#else
			run World(t)
#endif
		}
#if CANCELS
		run Canceller();
#ifdef LIVE
		run CancelNetwork();
#endif
#endif
		r = 0; t = 0
	}
}

#ifdef LIVE
#include "liveness.pml"
#endif
