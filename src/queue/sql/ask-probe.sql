-- Only one node asks: for the others the row is no longer due. A lost job is asked for again an hour later.
insert into probe as known (domain_id, asked_at, renew_at, patient_to)
values ($1, $2, $2::timestamptz + interval '1 hour', $2::timestamptz + interval '10 minutes')
on conflict (domain_id) do update set
  asked_at = $2, renew_at = excluded.renew_at, patient_to = $2::timestamptz + (known.patient_to - known.asked_at)
 where known.renew_at <= $2
    or (known.patient_to <= $2 and known.finding->>'kind' = 'soft'
        and known.finding->>'application' is distinct from $3)
returning domain_id
