import { Asking } from './index.js'

/** For Cloudflare, Vercel, Netlify, Deno and Bun: the page for a Request, or null. */
export function prepaint(options) {
  const asking = new Asking(options, 'PrepaintFetch')
  return async (request) => (asking.mayBeForUs(request) ? asking.page(request) : null)
}
