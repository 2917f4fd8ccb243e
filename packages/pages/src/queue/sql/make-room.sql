-- Gives a render back for a waiting crawler: it runs again later, and this is no fault of the page.
-- $4: also live renders that crawlers wait for. A live render whose crawlers left becomes a refresh.
update job j set
  state = 'queued', superseded = false, node = null, lease_until = null, run_at = now(),
  priority = case when priority = 0 and is_abandoned(j) then 1 else priority end,
  turn = case when priority = 0 and is_abandoned(j)
              then coalesce(last_turn(1::smallint, account_id, domain_id), 0) + 1 else turn end,
  waiters = case when is_abandoned(j) then 0 else waiters end,
  wait_until = case when is_abandoned(j) then null else wait_until end,
  is_for_waiting = is_for_waiting and not is_abandoned(j)
 where id = $1 and node = $2 and attempts = $3 and state = 'running' and (priority > 0 or is_abandoned(j) or $4)
returning priority
