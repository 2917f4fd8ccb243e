-- One of all nodes asks: who comes second finds the first one's row no longer due. Should the job be lost, an hour on
-- it is asked for again.
insert into probe as known (domain_id, asked_at, renew_at, patient_to)
values ($1, $2, $2::timestamptz + interval '1 hour', $2::timestamptz + interval '10 minutes')
on conflict (domain_id) do update set
  asked_at = $2, renew_at = excluded.renew_at, patient_to = $2::timestamptz + (known.patient_to - known.asked_at)
 where known.renew_at <= $2
    or (known.patient_to <= $2 and known.finding->>'kind' = 'soft'
        and known.finding->>'application' is distinct from $3)
returning domain_id
