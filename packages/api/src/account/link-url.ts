import { welcomeUrl } from '@prepaint/service/accounts/sign-in/links.ts'

/** Without a public URL, a link leads to where the request came. */
export function linkUrl(
  publicUrl: string | null,
  request: { protocol: string; host: string },
  token: string,
): string {
  return welcomeUrl(baseUrl(publicUrl, request), token)
}

/** What a share link leads to. The token is in the fragment, which is not sent to servers or logged. */
export function sharedUrl(
  publicUrl: string | null,
  request: { protocol: string; host: string },
  token: string,
): string {
  return `${baseUrl(publicUrl, request)}/shared#${token}`
}

function baseUrl(publicUrl: string | null, { protocol, host }: { protocol: string; host: string }): string {
  return publicUrl ?? `${protocol}://${host}`
}
