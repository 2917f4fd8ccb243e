-- Whether a site is due for a probe: never probed, too long ago, or with another application ($3). In the last case
-- not before `not_before`, because a site can have several applications.
select from domain left join probe on probe.domain_id = domain.id
 where domain.id = $1 and domain.is_active
   and coalesce(domain.settings->>'soft_404', 'answer') <> 'store'
   and (probe.domain_id is null or probe.renew_at <= $2
        or (probe.not_before <= $2 and probe.finding->>'kind' = 'soft'
            and probe.finding->>'application' is distinct from $3))
