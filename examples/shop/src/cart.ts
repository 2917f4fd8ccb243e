import { useSyncExternalStore } from 'react'

/** Pieces by product, kept in this browser. */
export type Cart = Readonly<Record<string, number>>

const NAME = 'cart'
const watchers = new Set<() => void>()
let cart: Cart = read()

export function useCart(): Cart {
  return useSyncExternalStore(watch, () => cart)
}

export function setPieces(slug: string, pieces: number): void {
  const { [slug]: _, ...others } = cart
  cart = pieces > 0 ? { ...others, [slug]: pieces } : others
  localStorage.setItem(NAME, JSON.stringify(cart))
  for (const tell of watchers) tell()
}

export function piecesIn(all: Cart): number {
  return Object.values(all).reduce((sum, pieces) => sum + pieces, 0)
}

function watch(tell: () => void): () => void {
  watchers.add(tell)
  return () => watchers.delete(tell)
}

function read(): Cart {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? '{}') as Cart
  } catch {
    return {}
  }
}
