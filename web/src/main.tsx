import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { Problem } from "./api/problem.ts";
import { App } from "./app.tsx";
import { startLanguages } from "./i18n/index.ts";
import { endSession, hearSignOut } from "./layout/session.ts";
import { Crash } from "./layout/Crash.tsx";
import { chosenTheme, setTheme } from "./layout/theme.ts";
import "./style/index.css";

const MAX_RETRIES = 2;

/** A session that has ended leads to the way in, whichever page noticed. */
const leave = (error: Error) => {
  if (error instanceof Problem && error.status === 401) endSession(client);
};
const client = new QueryClient({
  queryCache: new QueryCache({ onError: leave }),
  mutationCache: new MutationCache({ onError: leave }),
  defaultOptions: {
    // The server is often on this machine: whether there is a network says nothing about it.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      // What the server refused it will refuse again; only a lost connection is worth another try.
      retry: (failures, error) =>
        (!(error instanceof Problem) || error.isAway) && failures < MAX_RETRIES,
      refetchOnWindowFocus: false,
    },
  },
});

// A page that the browser kept whole would still show what was there before signing out.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
hearSignOut(client);
setTheme(chosenTheme());
startLanguages();
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <Crash>
      <QueryClientProvider client={client}>
        <BrowserRouter>
          <App />
        </BrowserRouter>
      </QueryClientProvider>
    </Crash>
  </StrictMode>,
);
