import { Asking } from './index.js'

/** For `proxy.ts` of Next.js: the page, or undefined, with which Next.js goes on. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintNext')
  return async (request) => {
    const page = asking.mayBeForUs(request) ? await asking.page(request) : null
    return page ?? undefined
  }
}
