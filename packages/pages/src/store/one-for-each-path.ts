/** A condition on `page` that leaves one row for each path: the desktop page, if there is one. */
export function oneForEachPath(page: string): string {
  return `(${page}.variant = 'desktop' or not exists (
    select from page of_desktop where of_desktop.domain_id = ${page}.domain_id and of_desktop.path = ${page}.path
       and of_desktop.variant = 'desktop'))`
}
