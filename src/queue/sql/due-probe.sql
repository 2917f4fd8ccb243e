-- Whether a site is to be probed: it never was, or too long ago, or its application ($3) is not the one that was probed;
-- then not before `patient_to`, so that a site of several applications is not probed all the time.
select from domain left join probe on probe.domain_id = domain.id
 where domain.id = $1 and domain.is_active
   and coalesce(domain.settings->>'soft_404', 'refuse') = 'refuse'
   and (probe.domain_id is null or probe.renew_at <= $2
        or (probe.patient_to <= $2 and probe.finding->>'kind' = 'soft'
            and probe.finding->>'application' is distinct from $3))
