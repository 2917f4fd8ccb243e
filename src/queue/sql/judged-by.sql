-- What a new render of a page is judged by: the copy that it would replace, with the settings of its domain, and ($3)
-- how the site looks where there is no page, if it looks like one and its owner lets pages be judged by it.
-- `probed` names that knowledge: `keep-page.sql` sees by it whether there is newer.
select page.status, page.text_chars, page.rendered_at, page.doubted_at, domain.settings, probe.renew_at::text as probed,
       case when $3::boolean and probe.finding->>'kind' = 'soft'
                 and coalesce(domain.settings->>'soft_404', 'refuse') = 'refuse' then probe.finding end as finding
  from domain
  left join page on page.domain_id = domain.id and page.path = $2
  left join probe on probe.domain_id = domain.id
 where domain.id = $1
