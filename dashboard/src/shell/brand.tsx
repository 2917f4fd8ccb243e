import { useEffect } from 'react'
import { product } from '../parts/product-name.ts'
import classes from './brand.module.css'
import { Wordmark } from './frame.tsx'
import type { Look } from './seen-brand.ts'

/** Whether anything of it is shown in place of our own name. */
function isBranded({ name, logo_url: logo, show_prepaint: showsPrepaint }: Look): boolean {
  return name !== null || logo !== null || !showsPrepaint
}

/** The logo of an account, or its name; ours if it has chosen none. `branding` undefined: not known yet, so that nothing flashes. */
export function Brand({ branding, account }: { branding: Look | undefined; account: string }) {
  if (branding === undefined) return <span className={classes.brand} />
  if (!isBranded(branding)) return <Wordmark />
  const name = branding.name ?? account
  return (
    <span className={classes.brand}>
      {branding.logo_url === null ? (
        name
      ) : (
        <img src={branding.logo_url} alt={name} className={classes.logo} />
      )}
    </span>
  )
}

/** Says whose product it is, where an account shows its own name. */
export function MadeWith({ branding }: { branding: Look | undefined }) {
  if (branding === undefined || !isBranded(branding) || !branding.show_prepaint) return null
  return <p className={classes.madeWith}>Made with Prepaint</p>
}

/** Changes the icon of the window. Returns how to take it back. */
function changeIcon(url: string): () => void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  if (link === null) return () => {}
  const before = { href: link.href, type: link.type }
  link.href = url
  // Browsers leave out an icon whose type is another one than is named.
  link.removeAttribute('type')
  return () => Object.assign(link, before)
}

/** Also in the title that is shown. */
function rename(name: string): void {
  const end = ` · ${product.name}`
  if (document.title.endsWith(end)) document.title = `${document.title.slice(0, -end.length)} · ${name}`
  product.name = name
}

/** The icon of windows of an account without a logo. */
const PLAIN_ICON = '/plain-icon.svg'

/** Gives links and buttons the colour of the account, and windows its name and icon, as long as the component is shown. */
export function useBrand(branding: Look | undefined, account: string): void {
  const colour = branding?.colour ?? null
  const name = branding !== undefined && isBranded(branding) ? (branding.name ?? account) : null
  const icon = branding !== undefined && isBranded(branding) ? (branding.logo_url ?? PLAIN_ICON) : null
  useEffect(() => {
    rename(name ?? 'Prepaint')
    return () => rename('Prepaint')
  }, [name])
  useEffect(() => (icon === null ? undefined : changeIcon(icon)), [icon])
  useEffect(() => {
    if (colour === null) return
    let isOver = false
    const root = document.documentElement
    void import('@prepaint/contract/brand-colour.ts').then(({ brandShades }) => {
      if (isOver) return
      const { light, dark } = brandShades(colour)
      root.style.setProperty('--brand-text', `light-dark(${light.text}, ${dark.text})`)
      root.style.setProperty('--brand-fill', `light-dark(${light.fill}, ${dark.fill})`)
      root.dataset['branded'] = ''
    })
    return () => {
      isOver = true
      delete root.dataset['branded']
    }
  }, [colour])
}
