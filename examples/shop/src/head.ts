import { useEffect } from 'react'

export type Head = {
  title: string
  description: string
  /** schema.org data of the page. */
  jsonLd?: Record<string, unknown>
  /** What a crawler is to be answered; the server itself says 200 to every path. */
  status?: 404
}

/** Everything about the page that stands in `<head>`: none of it is in index.html. */
export function useHead(head: Head | null): void {
  const text = head === null ? null : JSON.stringify(head)
  useEffect(() => {
    if (text === null) return
    const { title, description, jsonLd, status } = JSON.parse(text) as Head
    document.title = `${title} · Lumen & Loom`
    put('meta', 'description', { name: 'description', content: description })
    put('meta', 'og-title', { property: 'og:title', content: title })
    put('link', 'canonical', { rel: 'canonical', href: location.origin + location.pathname })
    if (status !== undefined) {
      put('meta', 'status', { name: 'prerender-status-code', content: String(status) })
    }
    if (jsonLd !== undefined) {
      const script = put('script', 'json-ld', { type: 'application/ld+json' })
      script.textContent = JSON.stringify({ '@context': 'https://schema.org', ...jsonLd })
    }
    return () => {
      for (const element of document.head.querySelectorAll('[data-of-page]')) element.remove()
    }
  }, [text])
}

function put(tag: string, name: string, attributes: Record<string, string>): Element {
  const known = document.head.querySelector(`[data-of-page="${name}"]`)
  const element = known ?? document.head.appendChild(document.createElement(tag))
  element.setAttribute('data-of-page', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
