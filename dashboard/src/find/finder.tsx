import { Loader, TextInput } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { Icon } from '../shell/navigation.ts'
import classes from './finder.module.css'

export type Found = { key: string; title: string; kind?: string; Icon: Icon }

/** A search field and what it has found, by keyboard and pointer. The texts of the fields are for screen readers. */
export function Finder<Item extends Found>(props: {
  label: string
  placeholder?: string
  text: string
  onText: (text: string) => void
  results: readonly Item[]
  onOpen: (item: Item) => void
  isBusy?: boolean
  /** The results are still those of an earlier text: Enter waits for its own. */
  areLate?: boolean
  /** The results lie over what is below, and are there only while the field has the focus. */
  isPopover?: boolean
  onEscape?: () => void
}) {
  const { text, results, onOpen, areLate = false, isPopover = false } = props
  const id = useId()
  const [active, setActive] = useState(0)
  const [hasFocus, setFocus] = useState(false)
  const [opensFirst, setOpensFirst] = useState(false)
  const list = useRef<HTMLDivElement>(null)
  const at = Math.min(active, results.length - 1)
  const isOpen = !isPopover || hasFocus
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])
  useEffect(() => {
    if (!opensFirst || areLate) return
    setOpensFirst(false)
    if (results[0] !== undefined) onOpen(results[0])
  }, [opensFirst, areLate])
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    const result = results[at]
    if (event.key === 'ArrowDown') setActive(Math.min(results.length - 1, at + 1))
    else if (event.key === 'ArrowUp') setActive(Math.max(0, at - 1))
    else if (event.key === 'Enter' && areLate) setOpensFirst(true)
    else if (event.key === 'Enter' && result !== undefined) onOpen(result)
    else if (event.key === 'Escape' && isPopover) event.currentTarget.blur()
    // Other keys are for the text.
    else return
    event.preventDefault()
  }
  return (
    <div className={isPopover ? classes.popover : undefined}>
      <TextInput
        role="combobox"
        aria-label={props.label}
        aria-expanded={isOpen}
        aria-controls={isOpen ? `${id}-list` : undefined}
        aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        data-autofocus={isPopover ? undefined : true}
        size={isPopover ? 'xs' : undefined}
        placeholder={props.placeholder}
        value={text}
        onChange={(event) => {
          props.onText(event.currentTarget.value)
          setActive(0)
          setOpensFirst(false)
        }}
        onKeyDown={press}
        onFocus={() => setFocus(true)}
        onBlur={() => setFocus(false)}
        rightSection={props.isBusy === true ? <Loader size="xs" aria-hidden /> : null}
      />
      {isOpen && (
        <div role="listbox" id={`${id}-list`} aria-label="Results" className={classes.results} ref={list}>
          {results.map((result, row) => (
            <div
              key={result.key}
              id={`${id}-${row}`}
              role="option"
              tabIndex={-1}
              aria-selected={row === at}
              className={classes.result}
              onPointerMove={() => setActive(row)}
              onPointerDown={(event) => {
                event.preventDefault()
                onOpen(result)
              }}
            >
              <result.Icon size={18} stroke={1.75} aria-hidden />
              <span className={classes.title}>{result.title}</span>
              {result.kind !== undefined && <span className={classes.kind}>{result.kind}</span>}
            </div>
          ))}
        </div>
      )}
    </div>
  )
}
