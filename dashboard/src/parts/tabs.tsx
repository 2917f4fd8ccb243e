import { useEffect, useRef } from 'react'
import { Link } from 'wouter'

import type { Icon } from '../shell/navigation.ts'
import classes from './tabs.module.css'

/** If the tabs do not fit, scrolls to the current one. */
export function Tabs(props: {
  label: string
  tabs: readonly {
    title: string
    href: string
    isShown: boolean
    Icon?: Icon
  }[]
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
          {tab.Icon && <tab.Icon size={16} stroke={1.75} className={classes.icon} aria-hidden />}
          {tab.title}
        </Link>
      ))}
    </nav>
  )
}
