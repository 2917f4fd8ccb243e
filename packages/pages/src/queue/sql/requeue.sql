-- Requeues the job in its old place, after $2 ms. $3: whether it counts as a fault.
update job set state = 'queued', superseded = false, node = null, lease_until = null,
       run_at = now() + $2 * interval '1 millisecond', faults = faults + $3::integer
 where id = $1
returning priority
