import { Asking } from './index.js'

/** For `proxy.ts` of Next.js: the page, or undefined, with which Next.js goes on. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintNext')
  return async (request) => {
    const page = asking.mayBeForUs(request) ? await asking.page(request) : null
    return page === null ? undefined : withWholeLocation(page, options.site ?? request.url)
  }
}

/** Next.js fails at a redirect to a path. */
function withWholeLocation(page, base) {
  const location = page.headers.get('location')
  if (location === null) return page
  try {
    page.headers.set('location', new URL(location, base).href)
    return page
  } catch {
    // It leads nowhere: the site answers.
    return undefined
  }
}
