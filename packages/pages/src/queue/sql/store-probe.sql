-- $3 null: the probe failed; the old finding stays, and the next probe is in an hour.
-- A false alarm (the same application again) doubles the wait for the next one, up to a day.
update probe set
  finding = coalesce($3::jsonb, finding), job_id = null,
  renew_at = $4::timestamptz + case when $3::jsonb is null then interval '1 hour' else interval '1 day' end,
  not_before = requested_at + case
    when finding->>'kind' = 'soft' and finding->>'application' is not distinct from $3::jsonb->>'application'
      then least(2 * (not_before - requested_at), interval '1 day')
    else interval '10 minutes' end
 where domain_id = $1 and job_id = $2
