import { useEffect, useState } from 'react'

const LINK_TOKEN = 'prepaint-link'

/** Keeps the token of a link while this tab signs in by single sign-on and comes back to the link's screen. */
export function keepLinkToken(token: string): void {
  sessionStorage.setItem(LINK_TOKEN, token)
}

/** Returns the token of a link in an e-mail. It is a secret, so it is removed from the address bar and the history. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1) || (sessionStorage.getItem(LINK_TOKEN) ?? ''))
  useEffect(() => {
    sessionStorage.removeItem(LINK_TOKEN)
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname)
  }, [])
  return token
}
