-- The copy that a new render would replace, with the settings of its domain.
select page.status, page.text_chars, page.rendered_at, page.doubted_at, domain.settings
  from page join domain on domain.id = page.domain_id
 where page.domain_id = $1 and page.path = $2
