import { useEffect, useRef } from 'react'
import { Link } from 'wouter'

import classes from './tabs.module.css'

/** The screens of one thing, side by side; where there is no room for all, the one that is shown is in sight. */
export function Tabs(props: {
  label: string
  tabs: readonly { title: string; href: string; isShown: boolean }[]
}) {
  const shown = useRef<HTMLAnchorElement>(null)
  const href = props.tabs.find(({ isShown }) => isShown)?.href
  useEffect(() => {
    const nav = shown.current?.parentElement
    if (href === undefined || shown.current === null || nav == null) return
    const { offsetLeft, offsetWidth } = shown.current
    nav.scrollLeft = offsetLeft - nav.offsetLeft - (nav.clientWidth - offsetWidth) / 2
  }, [href])
  return (
    <nav className={classes.tabs} aria-label={props.label}>
      {props.tabs.map((tab) => (
        <Link
          key={tab.href}
          href={tab.href}
          ref={tab.isShown ? shown : undefined}
          className={classes.tab}
          aria-current={tab.isShown ? 'page' : undefined}
        >
          {tab.title}
        </Link>
      ))}
    </nav>
  )
}
