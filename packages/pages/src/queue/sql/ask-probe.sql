-- Only one node asks: for the others the row is no longer due. A lost job is asked for again an hour later.
insert into probe as known (domain_id, requested_at, renew_at, not_before)
values ($1, $2, $2::timestamptz + interval '1 hour', $2::timestamptz + interval '10 minutes')
on conflict (domain_id) do update set
  requested_at = $2, renew_at = excluded.renew_at, not_before = $2::timestamptz + (known.not_before - known.requested_at)
 where known.renew_at <= $2
    or (known.not_before <= $2 and known.finding->>'kind' = 'soft'
        and known.finding->>'application' is distinct from $3)
returning domain_id
