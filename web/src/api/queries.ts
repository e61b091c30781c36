import { queryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import type { GraphDrawing, Kind, Me, Page, Proposal, Token, Turn } from "./documents.ts";
import { http, query } from "./http.ts";
import { Problem } from "./problem.ts";

/** Who is signed in; null for nobody. Keeps the value that changing requests have to carry. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async () => {
    try {
      const me = await http.get<Me>("/me");
      http.me = me;
      return me;
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: Infinity,
});

/** Read a list page by page, as far as it was asked for. */
export function usePages<Item>(key: string[], path: string, given: Record<string, string> = {}) {
  const pages = useInfiniteQuery({
    queryKey: [...key, given],
    queryFn: ({ pageParam }) => http.get<Page<Item>>(path + query({ ...given, cursor: pageParam })),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });
  return { ...pages, items: pages.data?.pages.flatMap((page) => page.items) ?? [] };
}

/** Read a list to its end, a piece after the other; for what makes no sense in part. */
export function useWhole<Item>(key: string[], path: string, given: Record<string, string> = {}) {
  const pages = usePages<Item>(key, path, given);
  const { hasNextPage, isFetchingNextPage, isError, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  return pages;
}

export const useTurns = () => usePages<Turn>(["turns"], "/turns", { limit: "20" });

export const useTurn = (id: string) =>
  useQuery({ queryKey: ["turn", id], queryFn: () => http.get<Turn>(`/turns/${id}`) });

export const usePending = () =>
  usePages<Proposal>(["proposals"], "/proposals", { state: "pending" });

export const proposalQuery = (id: string) =>
  queryOptions({
    queryKey: ["proposal", id],
    queryFn: () => http.get<Proposal>(`/proposals/${id}`),
  });

export const useKinds = () =>
  useQuery({
    queryKey: ["kinds"],
    queryFn: () => http.get<Record<string, Kind>>("/kinds"),
    staleTime: Infinity,
  });

export const useGraph = (name: string) =>
  useQuery({
    queryKey: ["graph", name],
    queryFn: () => http.get<GraphDrawing>(`/graphs/${name}`),
    staleTime: Infinity,
  });

export const useTokens = () => usePages<Token>(["tokens"], "/tokens");
