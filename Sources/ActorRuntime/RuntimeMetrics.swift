import Runtime

/// What the actor system counts.
struct RuntimeMetrics: Sendable {
    let activations: Counter
    let passivations: Counter
    let notOwnerAnswers: Counter
    let heldCalls: Counter
    let expiredCalls: Counter
    let rejectedCalls: Counter
    let malformedBatches: Counter

    init(_ metrics: Metrics) {
        activations = metrics.counter("roost_actor_activations_total", help: "Actors woken by a call.")
        passivations = metrics.counter("roost_actor_passivations_total", help: "Idle actors dropped.")
        notOwnerAnswers = metrics.counter(
            "roost_calls_not_owner_total", help: "Calls that reached a node that does not own the actor.")
        heldCalls = metrics.counter(
            "roost_calls_held_total", help: "Calls that waited for their actor to arrive in a hand-off.")
        expiredCalls = metrics.counter("roost_calls_expired_total", help: "Calls that ended by their deadline.")
        rejectedCalls = metrics.counter("roost_calls_rejected_total", help: "Calls refused because too many were waiting.")
        malformedBatches = metrics.counter("roost_bus_malformed_total", help: "Bus messages that could not be read.")
    }
}
